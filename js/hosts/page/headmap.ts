import { mountStatic } from "../../components/headmap/static.js";
import { showPage } from "../show.js";

showPage({ headmap: mountStatic });
