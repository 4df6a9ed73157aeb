import { mountStatic } from "../../components/pruning/static.js";
import { showPage } from "../show.js";

showPage({ pruning: mountStatic });
