import { mountStatic } from "../../components/attribution/static.js";
import { showPage } from "../show.js";

showPage({ attribution: mountStatic });
