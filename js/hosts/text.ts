/** What the hosts of the views of one text share: their traits, requests and answers. */

import type { AnyModel, RenderProps } from "@anywidget/types";
import type { TextComponent, TextEvents } from "../components/maps/frame.js";
import type { AttentionDocument, AttributionDocument, HeadRef } from "../wire/types.js";
import { type Arrived, type LiveState, showLive } from "./live.js";
import { listen, numbers } from "./messages.js";

export interface TextState<V> extends LiveState {
  selected: HeadRef[];
  view: V;
  hide_special: boolean;
  status: string;
}

type Write<S> = <K extends keyof S>(key: K, value: S[K]) => void;

interface TextHost<S, D, P, E> {
  readonly document: D extends { document: infer N } ? N : never;
  /** Traits besides those of every view of a text. */
  readonly traits: readonly (keyof S & string)[];
  props(arrived: Arrived<D>, model: AnyModel<S & object>): P;
  /** What the user may mean besides. */
  events(write: Write<S>): Omit<E, keyof TextEvents>;
  mount(el: HTMLElement, props: P, events: E): TextComponent<P>;
}

/** The `render` of a view of one text. */
export function textRender<
  S extends TextState<unknown>,
  D extends AttentionDocument | AttributionDocument,
  P,
  E extends TextEvents,
>(host: TextHost<S, D, P, E>): (context: RenderProps<S>) => () => void {
  return ({ model, el }) => {
    let component: TextComponent<P> | null = null;
    const number = numbers();
    const write: Write<S> = (key, value) => {
      model.set(key as keyof S & string, value as S[keyof S & string]);
      model.save_changes();
    };
    const shared: TextEvents = {
      onSelected: (selected) => write("selected", selected),
      onView: (view) => write("view", view),
      onHideSpecial: (hide) => write("hide_special", hide),
      onWords: (words) => model.send({ id: number(), ask: "words", words }),
      onRequest: (request) => model.send(request),
    };
    const stopListening = listen(model, () => component);
    const stop = showLive<S, D, P>({
      model,
      el,
      document: host.document as D["document"],
      traits: ["selected", "view", "hide_special", "status", ...host.traits],
      props: (arrived) => host.props(arrived, model),
      mount: (root, props) => {
        component = host.mount(root, props, { ...shared, ...host.events(write) } as E);
        return component;
      },
    });
    return () => {
      stopListening();
      stop();
    };
  };
}
