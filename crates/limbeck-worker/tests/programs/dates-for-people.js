// value: ["11/14/2023, 10:13:20 PM","11/14/2023","10:13:20 PM","Tuesday, November 14, 2023","Nov 14, 2023, 10:13 PM","November 14, 2023 at 10:13 PM UTC","11/14/23","22:13","Tue, Nov 14","November 2023","UTC","Invalid Date","RangeError","RangeError"]
const date = new Date(1700000000000);
const nameOf = (attempt) => { try { attempt(); } catch (error) { return error.name; } };
return [
  date.toLocaleString(), date.toLocaleDateString("en-US"), date.toLocaleTimeString("en-US", { timeZone: "UTC" }),
  new Intl.DateTimeFormat("en-US", { dateStyle: "full" }).format(date),
  date.toLocaleString("en-US", { dateStyle: "medium", timeStyle: "short" }),
  date.toLocaleString("en-US", {
    year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short",
  }),
  date.toLocaleDateString("en-US", { dateStyle: "short" }),
  date.toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit", hour12: false }),
  date.toLocaleDateString("en-US", { weekday: "short", month: "short", day: "numeric" }),
  date.toLocaleDateString("en-US", { year: "numeric", month: "long" }),
  Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(NaN).toLocaleString(),
  nameOf(() => date.toLocaleString("en-US", { timeZone: "America/New_York" })), nameOf(() => date.toLocaleString("fr-FR")),
];
