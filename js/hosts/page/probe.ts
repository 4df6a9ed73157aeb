import { mountStatic } from "../../components/probe/static.js";
import { showPage } from "../show.js";

showPage({ probe: mountStatic });
