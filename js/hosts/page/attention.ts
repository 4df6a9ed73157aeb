import { mountStatic } from "../../components/attention/static.js";
import { showPage } from "../show.js";

showPage({ attention: mountStatic });
