// value: {"open":2,"titles":["first","third"]}
// stdout: asked for 3
interface Issue { title: string; open: boolean }

const wanted: Issue[] = [
  { title: 'first', open: true },
  { title: 'second', open: false },
  { title: 'third', open: true },
];
const issues: Issue[] = await Promise.all(wanted.map((issue) => tools.test.echo(issue)));
console.log(`asked for ${issues.length}`);
const open = issues.filter((issue) => issue.open);
return { open: open.length, titles: open.map((issue) => issue.title) };
