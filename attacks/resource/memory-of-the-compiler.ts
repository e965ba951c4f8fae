// attack: an enum whose members double a text at compile time, outside of the guest's memory
// property: S15
// timeout_ms: 3000
// expect: error timeout|memory_limit|syntax
enum Big {
  a = "xxxxxxxxxxxxxxxx", b = `${a}${a}${a}${a}`, c = `${b}${b}${b}${b}`, d = `${c}${c}${c}${c}`, e = `${d}${d}${d}${d}`,
  f = `${e}${e}${e}${e}`, g = `${f}${f}${f}${f}`, h = `${g}${g}${g}${g}`, i = `${h}${h}${h}${h}`, j = `${i}${i}${i}${i}`,
  k = `${j}${j}${j}${j}`, l = `${k}${k}${k}${k}`, m = `${l}${l}${l}${l}`, n = `${m}${m}${m}${m}`, o = `${n}${n}${n}${n}`,
}
return Big.o.length;
