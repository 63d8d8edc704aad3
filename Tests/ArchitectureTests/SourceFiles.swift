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

/// The folder with the sources of a target, in its area.
func sources(of target: String) -> String {
  let root = "\(PureRingsTests.root)/Sources"
  let folders = Folder.names(in: root, withPrefix: "").flatMap { area in
    ["", "Pure/", "Rim/"].map { "\(root)/\(area)/\($0)\(target)" }
  }
  return folders.first { access($0, F_OK) == 0 } ?? "\(root)/\(target)"
}

/// Every Swift file of the project's sources with its text, by its path in the repository.
func allSources() -> [(name: String, text: String)] {
  let root = PureRingsTests.root
  return swiftFiles(in: "\(root)/Sources").sorted().compactMap { path in
    (try? TextFile.read(path)).map { (String(path.dropFirst(root.count + 1)), String(decoding: $0, as: UTF8.self)) }
  }
}
