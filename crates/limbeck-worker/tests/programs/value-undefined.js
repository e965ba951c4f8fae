// stdout: nothing is returned
console.log("nothing is returned");
