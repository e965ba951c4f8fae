// attack: nested blocks, functions and templates up to the bound of the parser
// property: S24
// timeout_ms: 20000
// build: [["(()=>{", 900], ["return 1", 1], ["})()", 900]]
// expect: nothing
