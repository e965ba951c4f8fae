// throws: TypeError: tools cannot be changed
tools.test = 1;
