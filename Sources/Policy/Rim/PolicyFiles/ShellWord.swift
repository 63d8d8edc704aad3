/// A path or another word as a person types it in a shell, for commands that messages show.
package func shellWord(_ text: String) -> String {
  let isPlain =
    !text.isEmpty
    && text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "/._-+=:,@%".utf8.contains(byte)
      }
    }
  return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
}
