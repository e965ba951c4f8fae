# Messages in other scripts.
raise ValueError("größer als 10 – 日本語 🎉")
