// value: {"ceil":"2.3 2.2 -2.2 -2.2 1","floor":"2.2 2.2 -2.3 -2.3 0","expand":"2.3 2.2 -2.3 -2.3 1","trunc":"2.2 2.2 -2.2 -2.2 0","halfCeil":"2.3 2.2 -2.2 -2.3 0","halfFloor":"2.2 2.2 -2.3 -2.3 0","halfExpand":"2.3 2.2 -2.3 -2.3 0","halfTrunc":"2.2 2.2 -2.2 -2.3 0","halfEven":"2.2 2.2 -2.2 -2.3 0","others":["$5","$5.50","1.3K","-1.2K","100","0.01","RangeError","RangeError","RangeError","RangeError","RangeError"]}
// 2.25 is half way, 2.2 needs no rounding, -2.26 is above the half.
const nameOf = (attempt) => { try { return attempt(); } catch (error) { return error.name; } };
const rounded = (roundingMode) => [
  ...[2.25, 2.2, -2.25, -2.26].map((value) => value.toLocaleString("en-US", { roundingMode, maximumFractionDigits: 1 })),
  (0.004).toLocaleString("en-US", { roundingMode, maximumFractionDigits: 0 }),
].join(" ");
const modes = ["ceil", "floor", "expand", "trunc", "halfCeil", "halfFloor", "halfExpand", "halfTrunc", "halfEven"];
const dollars = { style: "currency", currency: "USD", trailingZeroDisplay: "stripIfInteger" };
return {
  ...Object.fromEntries(modes.map((mode) => [mode, rounded(mode)])),
  others: [
    (5).toLocaleString("en-US", dollars), (5.5).toLocaleString("en-US", dollars),
    (1210).toLocaleString("en-US", { notation: "compact", roundingMode: "ceil" }),
    (-1290).toLocaleString("en-US", { notation: "compact", roundingMode: "ceil" }),
    (99.5).toLocaleString("en-US", { maximumFractionDigits: 0, roundingMode: "halfEven" }),
    (0.001).toLocaleString("en-US", { maximumFractionDigits: 2, roundingMode: "expand" }),
    // What is not available is refused and not left out.
    nameOf(() => (1).toLocaleString("en-US", { roundingMode: "nearest" })),
    nameOf(() => (1).toLocaleString("en-US", { roundingIncrement: 5 })),
    nameOf(() => (1).toLocaleString("en-US", { roundingPriority: "morePrecision" })),
    nameOf(() => (1).toLocaleString("en-US", { numberingSystem: "arab" })),
    nameOf(() => new Intl.PluralRules("en-US", { minimumFractionDigits: 1 })),
  ],
};
