// value: {"frames":10,"foreign":0}
// The frames of the prelude take no place of the program's.
const call = (depth) => (depth > 0 ? call(depth - 1) : tools.test.fail({}));
try {
  await call(12);
} catch (error) {
  const frames = error.stack.split('\n');
  return { frames: frames.length, foreign: frames.filter((frame) => !frame.includes('program')).length };
}
