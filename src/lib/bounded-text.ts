/** The text of a response up to a limit; a body that breaks off still has its beginning. */
export async function boundedText(response: Response, mostBytes: number): Promise<{ text: string; whole: boolean }> {
  const reader = response.body?.getReader();
  if (!reader) return { text: "", whole: true };
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text: text + decoder.decode(), whole: true };
      text += decoder.decode(value, { stream: true });
      bytes += value.byteLength;
      if (bytes > mostBytes) break;
    }
  } catch {
    return { text, whole: false };
  }
  await reader.cancel().catch(() => undefined);
  return { text, whole: false };
}
