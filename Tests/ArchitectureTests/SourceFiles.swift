import Glibc
import LinuxIO

/// Every Swift file below a folder.
func swiftFiles(in folder: String) -> [String] {
  guard let handle = opendir(folder) else { return [] }
  defer { closedir(handle) }
  var files: [String] = []
  while let entry = readdir(handle) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name.hasPrefix(".") { continue }
    let path = "\(folder)/\(name)"
    if name.hasSuffix(".swift") { files.append(path) } else { files += swiftFiles(in: path) }
  }
  return files
}

/// The modules of `import` lines; attributes, access levels and kinds before or after the word do not hide them.
func importedModules(in text: String) -> [String] {
  text.split(whereSeparator: \.isNewline).compactMap { line in
    let words = line.split { $0 == " " || $0 == "\t" }
    guard let place = words.firstIndex(of: "import") else { return nil }
    let before = words[..<place]
    guard before.allSatisfy({ $0.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains($0) }) else {
      return nil
    }
    let kinds = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]
    let module = words[(place + 1)...].first { !kinds.contains(String($0)) }
    return module?.split(separator: ".").first.map(String.init)
  }
}

/// The folder with the sources of a target: of the repository's, or of a package inside it.
func sources(of target: String) -> String {
  let folders = ["Sources", "Packages/Gateway/Sources", "Packages/Provider/Sources", "Packages/WireGuard/Sources"].map { folder in
    "\(PureRingsTests.root)/\(folder)/\(target)"
  }
  return folders.first { access($0, F_OK) == 0 } ?? folders[3]
}

/// Every Swift file of the project's sources with its text, by its path in the repository; once, though packages have links to folders of
/// others.
func allSources() -> [(name: String, text: String)] {
  var found: [String: String] = [:]
  guard let root = realpath(PureRingsTests.root, nil).map({ String(cString: $0) }) else { return [] }
  for folder in ["Sources", "Packages/Gateway/Sources", "Packages/Provider/Sources", "Packages/WireGuard/Sources"] {
    for path in swiftFiles(in: "\(root)/\(folder)") {
      guard let whole = realpath(path, nil).map({ String(cString: $0) }), whole.hasPrefix("\(root)/"), let bytes = try? TextFile.read(whole)
      else {
        continue
      }
      found[String(whole.dropFirst(root.count + 1))] = String(decoding: bytes, as: UTF8.self)
    }
  }
  return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
}
