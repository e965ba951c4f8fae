// attack: back references and look-arounds that multiply, with the sticky and unicode flags
// property: S21
// timeout_ms: 600
// expect: error timeout
return /^(?=(.*)+x)(?:(a*)*\2)*?(?<!(b*)*)$/u.test("a".repeat(60) + "!");
