// throws: just text
throw "just text";
