// value: 1000
const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.test.echo({ i, text: "x".repeat(1000) })));
return answers.filter((answer, i) => answer.i === i && answer.text.length === 1000).length;
