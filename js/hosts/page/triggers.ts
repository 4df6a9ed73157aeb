import { mountStatic } from "../../components/triggers/static.js";
import { showPage } from "../show.js";

showPage({ triggers: mountStatic });
