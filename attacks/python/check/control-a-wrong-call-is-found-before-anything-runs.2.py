# control: finds that nothing of the program before was sent
# property: S44
# expect: value 0
return tools.probe.noted(mark="python before a wrong call").times
