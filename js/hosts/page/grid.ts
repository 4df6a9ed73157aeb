import { mountStatic } from "../../components/grid/static.js";
import { showPage } from "../show.js";

showPage({ grid: mountStatic });
