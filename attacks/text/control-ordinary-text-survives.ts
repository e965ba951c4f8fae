// control: text of every plane comes back as it was, so what is changed elsewhere was changed for a reason
// property: S25
// expect: value ["é", "日本語", "👩‍👩‍👧", "‮rtl", "tab\tline\n"]
return ["é", "日本語", "👩‍👩‍👧", "‮rtl", "tab\tline\n"];
