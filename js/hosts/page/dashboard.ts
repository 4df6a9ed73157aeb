import { mountStatic } from "../../components/dashboard/mount.js";
import { showPage } from "../show.js";

showPage({ dashboard: mountStatic });
