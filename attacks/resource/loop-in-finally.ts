// attack: a loop in `finally`, after another loop was ended, to outlive the first interruption
// property: S21
// timeout_ms: 500
// expect: error timeout
function again(): never { try { for (;;); } catch { again(); } finally { for (;;); } }
again();
