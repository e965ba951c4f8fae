// attack: an error message with NUL, escape sequences, line ends and reversed text, for the terminal and the log of the reader
// property: S55
// expect: error exception
throw new Error("\u001b[2J\u001b]0;forged\u0007\u202eevil\u0000\r\nstatus: completed\u2028\u0085");
