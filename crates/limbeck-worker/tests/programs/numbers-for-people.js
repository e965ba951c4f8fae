// value: ["1,234,567.891","1,234.50","12%","12.3%","$1,234.50","-€0.99","¥1,235","CHF 10.00","1.2K","1M","1.01","+5","12 km","12,345,678,901,234,567,890","1,234","RangeError","RangeError"]
const nameOf = (attempt) => { try { attempt(); } catch (error) { return error.name; } };
const currency = (code) => ({ style: "currency", currency: code });
return [
  (1234567.891).toLocaleString(), (1234.5).toLocaleString("en-US", { minimumFractionDigits: 2 }),
  (0.123).toLocaleString("en-US", { style: "percent" }),
  (0.123).toLocaleString("en-US", { style: "percent", maximumFractionDigits: 1 }),
  new Intl.NumberFormat("en-US", currency("USD")).format(1234.5), (-0.99).toLocaleString("en-US", currency("EUR")),
  (1234.5).toLocaleString("en-US", currency("JPY")), (10).toLocaleString("en-US", currency("CHF")),
  (1234).toLocaleString("en-US", { notation: "compact" }), (999950).toLocaleString("en-US", { notation: "compact" }),
  (1.005).toLocaleString("en-US", { maximumFractionDigits: 2 }), (5).toLocaleString("en-US", { signDisplay: "always" }),
  (12).toLocaleString("en-US", { style: "unit", unit: "kilometer" }), 12345678901234567890n.toLocaleString(),
  (1234.4).toLocaleString(undefined, { maximumFractionDigits: 0 }),
  nameOf(() => (1).toLocaleString("de-DE")), nameOf(() => (1).toLocaleString("en-US", { style: "roman" })),
];
