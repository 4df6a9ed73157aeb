import { mountStatic } from "../../components/patterns/static.js";
import { showPage } from "../show.js";

showPage({ patterns: mountStatic });
