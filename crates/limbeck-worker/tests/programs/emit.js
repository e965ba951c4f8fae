// value: [null,null,null,"emit takes a text, a content block or an artifact"]
const id = 'art_' + '0'.repeat(32);
return [
  await emit('text'),
  await emit({ type: 'image', data: 'AAAA', mimeType: 'image/png' }),
  await emit(artifacts.open(id)),
  await emit(undefined).catch((error) => error.message),
];
