import { mountStatic } from "../../components/curves/static.js";
import { showPage } from "../show.js";

showPage({ curves: mountStatic });
