// value: true
return (await tools) === tools && (await tools.test) === tools.test;
