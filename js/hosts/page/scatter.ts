import { mountStatic } from "../../components/scatter/static.js";
import { showPage } from "../show.js";

showPage({ scatter: mountStatic });
