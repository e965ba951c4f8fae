// throws: { code: 7 }
throw { code: 7 };
