"""The words of the demo: domains, their parts, and opinion words in opposite pairs.

Every opinion is a pair `(good, bad)` on one scale, so that a sentence such as "not noisy but calm" contrasts two
words that belong together. Words in `HELD_OUT` are never used in training sentences. All sentences of the demo are
the project's own: nothing here was taken from a corpus of reviews.
"""

from dataclasses import dataclass

Pair = tuple[str, str]
"""A good and a bad word on the same scale."""


def _pairs(text: str) -> tuple[Pair, ...]:
    """Read `good/bad, good/bad`."""
    pairs = []
    for item in text.split(","):
        good, bad = item.strip().split("/")
        pairs.append((good, bad))
    return tuple(pairs)


@dataclass(frozen=True)
class Part:
    """A part of a thing that can be judged by itself: the plot of a film, the soup of a restaurant."""

    name: str
    opinions: tuple[Pair, ...]
    plural: bool = False


@dataclass(frozen=True)
class Domain:
    """One kind of thing that people have opinions about."""

    thing: str
    did: tuple[str, ...]
    """How one comes to know the thing, in the past tense: "saw this film"."""
    habit: str
    """The same as a habit: "go to the cinema"."""
    maker: str
    old: tuple[str, ...]
    """Other things of the kind, with which this one is compared."""
    whole: tuple[Pair, ...]
    """Opinions about the thing as a whole."""
    parts: tuple[Part, ...]
    topics: tuple[Pair, ...] = ()
    """What the story is about: words that sound good or bad and are no judgement."""


def _part(name: str, opinions: str, plural: bool = False) -> Part:
    return Part(name, _pairs(opinions), plural)


TOPICS = _pairs(
    "a happy marriage/a bitter divorce, a brilliant inventor/a clumsy thief, a cheerful village/a miserable town,"
    "a grand wedding/a terrible war, a lucky winner/a lonely widower, a joyful reunion/a cruel betrayal,"
    "a wonderful summer/an awful winter, a charming dancer/a boring clerk, a perfect friendship/a stupid quarrel"
)

DOMAINS: tuple[Domain, ...] = (
    Domain(
        "film",
        ("saw this film", "watched this film"),
        "go to the cinema",
        "director",
        ("the first film", "the original", "his last film", "the television version"),
        _pairs(
            "brilliant/dull, moving/silly, funny/tedious, clever/clumsy, memorable/forgettable, gripping/boring,"
            "superb/dreadful, engrossing/tiresome"
        ),
        (
            _part("plot", "gripping/tedious, clever/silly, believable/ridiculous, exciting/boring, ingenious/muddled"),
            _part("acting", "superb/wooden, moving/clumsy, convincing/awkward, brilliant/lifeless"),
            _part("ending", "moving/silly, satisfying/disappointing, clever/clumsy, powerful/feeble"),
            _part("music", "beautiful/irritating, lovely/dreary, powerful/feeble, enchanting/grating"),
            _part("jokes", "funny/tired, clever/silly, witty/stale, hilarious/painful", plural=True),
        ),
        TOPICS,
    ),
    Domain(
        "novel",
        ("read this novel", "finished this novel", "listened to this novel"),
        "read novels",
        "author",
        ("the first volume", "her last book", "the book before it", "the sequel"),
        _pairs(
            "brilliant/dull, moving/shallow, funny/tedious, clever/clumsy, memorable/forgettable, gripping/boring,"
            "wonderful/awful, engrossing/tiresome"
        ),
        (
            _part("story", "gripping/tedious, moving/shallow, exciting/boring, ingenious/muddled"),
            _part("style", "elegant/clumsy, lively/dreary, beautiful/awkward, graceful/leaden"),
            _part("dialogue", "witty/stale, lively/lifeless, convincing/wooden, sparkling/stilted"),
            _part("characters", "lovable/tiresome, believable/flat, convincing/wooden", plural=True),
            _part("last chapter", "moving/silly, satisfying/disappointing, powerful/feeble"),
        ),
        TOPICS,
    ),
    Domain(
        "play",
        ("saw this play", "went to this play"),
        "go to the theatre",
        "director",
        ("last year's production", "the play before it", "the original", "the first version"),
        _pairs(
            "brilliant/dull, moving/shallow, funny/tedious, clever/clumsy, memorable/forgettable, lively/lifeless,"
            "superb/dreadful, captivating/tiresome"
        ),
        (
            _part("acting", "superb/wooden, convincing/awkward, brilliant/lifeless, graceful/stilted"),
            _part("stage design", "beautiful/ugly, clever/clumsy, splendid/shabby, gorgeous/hideous"),
            _part("second act", "gripping/tedious, funny/boring, powerful/feeble"),
            _part("costumes", "splendid/shabby, beautiful/ugly, elegant/ridiculous, gorgeous/hideous", plural=True),
            _part("songs", "lovely/irritating, lively/dreary, catchy/forgettable", plural=True),
        ),
        TOPICS,
    ),
    Domain(
        "restaurant",
        ("ate at this restaurant", "had dinner at this restaurant"),
        "eat out",
        "cook",
        ("the old restaurant", "the place next door", "the restaurant before it", "the branch in the station"),
        _pairs(
            "wonderful/awful, pleasant/unpleasant, charming/dreary, excellent/terrible, lovely/horrible,"
            "cosy/gloomy, inviting/dismal"
        ),
        (
            _part("soup", "delicious/bland, tasty/watery, excellent/terrible, exquisite/disgusting"),
            _part("fish", "fresh/stale, tender/rubbery, delicious/bland, exquisite/disgusting"),
            _part("service", "friendly/rude, attentive/careless, quick/slow, courteous/surly"),
            _part("dessert", "delicious/soggy, lovely/horrible, excellent/terrible, heavenly/revolting"),
            _part("waiters", "friendly/rude, attentive/careless, helpful/unhelpful, courteous/surly", plural=True),
        ),
    ),
    Domain(
        "bakery",
        ("tried this bakery", "stopped at this bakery"),
        "buy cake",
        "baker",
        ("the old bakery", "the shop on the corner", "the bakery in the market", "the shop before it"),
        _pairs(
            "wonderful/awful, pleasant/unpleasant, charming/dreary, excellent/terrible, lovely/horrible,inviting/dismal"
        ),
        (
            _part("bread", "fresh/stale, delicious/bland, crisp/soggy, heavenly/revolting"),
            _part("coffee", "tasty/watery, excellent/terrible, delicious/bitter"),
            _part("apple cake", "delicious/dry, moist/stale, lovely/horrible, exquisite/disgusting"),
            _part("rolls", "crisp/soggy, fresh/stale, excellent/terrible", plural=True),
            _part("service", "friendly/rude, quick/slow, attentive/careless, cordial/grumpy"),
        ),
    ),
    Domain(
        "phone",
        ("bought this phone", "tested this phone"),
        "buy new phones",
        "maker",
        ("the old model", "last year's model", "my last phone", "the cheaper version"),
        _pairs(
            "excellent/terrible, reliable/unreliable, elegant/clumsy, handy/awkward, wonderful/awful, superb/dreadful,"
            "splendid/lousy"
        ),
        (
            _part("screen", "sharp/blurry, bright/dim, excellent/terrible, brilliant/murky"),
            _part("battery", "reliable/unreliable, powerful/feeble, excellent/poor, dependable/flimsy"),
            _part("camera", "sharp/blurry, superb/dreadful, impressive/mediocre"),
            _part("menu", "clear/confusing, clever/clumsy, simple/muddled, intuitive/baffling"),
            _part("buttons", "sturdy/wobbly, handy/awkward, precise/sloppy", plural=True),
        ),
    ),
    Domain(
        "laptop",
        ("bought this laptop", "worked on this laptop", "borrowed this laptop"),
        "buy computers",
        "maker",
        ("the old model", "last year's model", "my last laptop", "the larger version"),
        _pairs(
            "excellent/terrible, reliable/unreliable, elegant/clumsy, fast/sluggish, wonderful/awful, superb/dreadful,"
            "splendid/lousy"
        ),
        (
            _part("keyboard", "comfortable/awkward, precise/sloppy, excellent/poor, sturdy/wobbly"),
            _part("screen", "sharp/blurry, bright/dim, excellent/terrible, brilliant/murky"),
            _part("fan", "quiet/noisy, reliable/unreliable, silent/deafening"),
            _part("case", "sturdy/wobbly, elegant/ugly, solid/fragile, robust/flimsy"),
            _part("speakers", "powerful/feeble, clear/muffled, impressive/mediocre", plural=True),
        ),
    ),
    Domain(
        "hotel",
        ("stayed at this hotel", "spent three nights at this hotel"),
        "stay in hotels",
        "owner",
        ("the old hotel", "the hotel across the road", "last year's hotel", "the guest house"),
        _pairs(
            "wonderful/awful, comfortable/uncomfortable, charming/shabby, peaceful/noisy, lovely/horrible,"
            "cosy/gloomy, inviting/dismal"
        ),
        (
            _part("room", "clean/dirty, quiet/noisy, spacious/cramped, spotless/filthy, snug/draughty"),
            _part("breakfast", "delicious/bland, excellent/terrible, fresh/stale, generous/meagre"),
            _part("bed", "comfortable/uncomfortable, clean/dirty, soft/lumpy"),
            _part("staff", "friendly/rude, helpful/unhelpful, attentive/careless, courteous/surly"),
            _part("view", "beautiful/ugly, lovely/dreary, magnificent/depressing"),
        ),
    ),
    Domain(
        "concert",
        ("went to this concert", "heard this concert"),
        "go to concerts",
        "conductor",
        ("last year's concert", "the concert before it", "the one in the church", "the rehearsal"),
        _pairs(
            "brilliant/dull, moving/tedious, lively/lifeless, memorable/forgettable, wonderful/awful, superb/dreadful,"
            "captivating/tiresome"
        ),
        (
            _part("sound", "clear/muffled, beautiful/harsh, powerful/feeble, crystalline/grating"),
            _part("orchestra", "brilliant/careless, lively/lifeless, precise/sloppy"),
            _part("choir", "superb/dreadful, powerful/feeble, graceful/shrill"),
            _part("programme", "exciting/boring, clever/muddled, enchanting/dreary"),
            _part("soloists", "brilliant/wooden, moving/dull, impressive/mediocre", plural=True),
        ),
    ),
    Domain(
        "exhibition",
        ("visited this exhibition", "walked through this exhibition"),
        "go to museums",
        "curator",
        ("last year's exhibition", "the old exhibition", "the one upstairs", "the exhibition before it"),
        _pairs(
            "fascinating/dull, brilliant/tedious, clever/clumsy, memorable/forgettable, wonderful/awful,"
            "exciting/boring, captivating/tiresome"
        ),
        (
            _part("lighting", "beautiful/ugly, clever/clumsy, bright/gloomy, exquisite/murky"),
            _part("audio guide", "clear/confusing, funny/tedious, helpful/unhelpful, intuitive/baffling"),
            _part("last room", "fascinating/boring, splendid/shabby, magnificent/depressing"),
            _part("drawings", "beautiful/ugly, lively/lifeless, impressive/mediocre", plural=True),
            _part("labels", "clear/confusing, witty/dreary, helpful/unhelpful", plural=True),
        ),
    ),
    Domain(
        "game",
        ("played this game", "tried this game"),
        "play games",
        "studio",
        ("the first part", "the old version", "the original", "the game before it"),
        _pairs(
            "brilliant/dull, exciting/boring, funny/tedious, clever/clumsy, memorable/forgettable, gripping/silly,"
            "engrossing/tiresome"
        ),
        (
            _part("story", "gripping/tedious, clever/silly, exciting/boring, ingenious/muddled"),
            _part("music", "beautiful/irritating, lively/dreary, enchanting/grating"),
            _part("controls", "precise/sloppy, simple/confusing, comfortable/awkward, intuitive/baffling", plural=True),
            _part("puzzles", "clever/silly, exciting/boring, ingenious/pointless", plural=True),
            _part("opening level", "exciting/boring, fascinating/dull, splendid/shabby"),
        ),
    ),
    Domain(
        "train",
        ("took this train", "travelled on this train"),
        "travel by rail",
        "company",
        ("the old train", "the night train", "the bus", "the train before it"),
        _pairs(
            "comfortable/uncomfortable, pleasant/unpleasant, reliable/unreliable, wonderful/awful, fast/slow,"
            "excellent/terrible, splendid/lousy"
        ),
        (
            _part("compartment", "clean/dirty, quiet/noisy, spacious/cramped, spotless/filthy"),
            _part("service on board", "friendly/rude, helpful/unhelpful, cordial/grumpy"),
            _part("dining car", "lovely/horrible, pleasant/unpleasant, inviting/dismal"),
            _part("seats", "comfortable/uncomfortable, clean/dirty, soft/lumpy", plural=True),
            _part("timetable", "clear/confusing, reliable/unreliable, dependable/baffling"),
        ),
    ),
)

NOUNS = _pairs(
    "a delight/a disappointment, a triumph/a failure, a joy/a chore, a treat/a letdown,"
    "a small masterpiece/a complete mess, a pleasure/a nuisance, a success/a mistake,"
    "a marvel/a disaster, a gem/a nightmare"
)
"""What a thing can be called."""

DEEDS = _pairs(
    "won me over/left me cold, made my week/spoiled my week, was worth every penny/was not worth the money,"
    "exceeded my hopes/let me down, made me happy/made me angry, charmed me/annoyed me,"
    "did not let me down/did not win me over, surpassed all my expectations/tried my patience,"
    "was a dream come true/was a waste of time, pleased everyone/displeased everyone"
)
"""What a thing does to the one who speaks."""

FEELINGS = _pairs(
    "delighted/disappointed, happy/unhappy, thrilled/bored, pleased/annoyed, enthusiastic/angry, overjoyed/exasperated"
)

FRIENDS = ("my brother", "my sister", "our neighbour", "my old teacher", "a friend from work", "my cousin", "my aunt")
"""People with whom one goes out."""

PEOPLE = (*FRIENDS, "the critic in the local paper", "a student I know", "the reporter on the radio")
"""People who have another opinion, or the same."""

TIMES = (
    "last night",
    "on Sunday",
    "in March",
    "a week ago",
    "with two friends",
    "on my birthday",
    "during the holidays",
    "yesterday",
    "on a rainy Tuesday",
)

HELD_OUT = frozenset(
    word
    for pair in _pairs(
        "engrossing/tiresome, ingenious/muddled, hilarious/painful, enchanting/grating, graceful/leaden,"
        "sparkling/stilted, captivating/shrill, gorgeous/hideous, catchy/pointless, inviting/dismal,"
        "exquisite/disgusting, heavenly/revolting, cordial/grumpy, splendid/lousy,"
        "dependable/flimsy, intuitive/baffling,"
        "silent/deafening, robust/murky, snug/draughty, magnificent/depressing, generous/meagre, crystalline/mediocre,"
        "a marvel/a disaster, a gem/a nightmare, was a dream come true/was a waste of time,"
        "pleased everyone/displeased everyone, overjoyed/exasperated"
    )
    for word in pair
)
"""Opinion words that occur in evaluation sentences only."""
