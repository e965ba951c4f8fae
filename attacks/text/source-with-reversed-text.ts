// attack: marks that reverse the order of text, so that a reader sees other code than runs
// property: S31
// expect: value ["user‮", false]
const access = "user‮";
return [access, access === "user"];
