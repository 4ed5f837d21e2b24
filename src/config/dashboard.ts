import { everyTool, namespaceName } from "./common.ts";
import { boolean, duration, integer } from "./kinds.ts";
import { optional, type Role, withDefault } from "./table.ts";

const settings = {
  namespace: optional(namespaceName, "Show one namespace alone; all when absent.", { sources: ["flag"], short: "n" }),
  port: withDefault(integer(0, 65535), "0", "Port on 127.0.0.1; 0 takes a free one.", { sources: ["flag"] }),
  interval: withDefault(duration("500ms", "1h"), "2s", "Pause between two looks at the cluster.", {
    sources: ["flag"],
  }),
  open: withDefault(boolean, "false", "Open the page in the browser of this machine (xdg-open, open).", {
    sources: ["flag"],
  }),
  ...everyTool,
};

export const dashboardRole: Role<typeof settings> = {
  name: "dashboard",
  summary: "Serve a page on this machine that shows all tunnels, live.",
  settings,
};
