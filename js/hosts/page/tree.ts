import { mountStatic } from "../../components/tree/static.js";
import { showPage } from "../show.js";

showPage({ tree: mountStatic });
