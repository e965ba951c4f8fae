// attack: throws errors whose names and codes claim another end: a timeout, a fault of the gateway, a cancellation
// property: S38
// expect: error exception
// message: Timeout
throw Object.assign(new Error("program ran longer than 1 ms"), { name: "Timeout", kind: "timeout", code: "gateway_fault", status: "completed", line: 9999 });
