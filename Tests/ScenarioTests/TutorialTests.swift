import Glibc
import LinuxIO
import Testing

@Suite("The tutorial")
struct TutorialTests {
  /// The console lines of a section.
  private static func lines(of section: String) throws -> [String] {
    let text = String(decoding: try TextFile.read("\(Lab.root)/docs/tutorial.md"), as: UTF8.self)
    let from = try #require(text.firstRange(of: "\n## \(section)\n")).upperBound
    let part = text[from...]
    let blocks = part[..<(part.firstRange(of: "\n## ")?.lowerBound ?? part.endIndex)].split(
      separator: "```", omittingEmptySubsequences: false)
    return blocks.enumerated().filter { $0.offset % 2 == 1 && $0.element.hasPrefix("console\n") }
      .flatMap { $0.element.split(separator: "\n").dropFirst().map(String.init) }
  }

  /// Copies what the packages have of the documentation, by their list.
  private static let installed = """
    while read -r kind from to; do
      [[ $kind == file && $to == doc/* ]] || continue
      mkdir -p "$folder/share/${to#doc/}"
      for file in $root/$from; do cp "$file" "$folder/share/${to#doc/}"; done
    done <"$root/packaging/content"

    """

  @Test("its day needs the packages alone, and what is printed is what it shows") func day() throws {
    let lines = try Self.lines(of: "A day in virtual time")
    let commands = lines.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
    #expect(commands.count > 5)
    let script =
      """
      set -eo pipefail
      folder=$(mktemp --directory); trap 'rm -rf "$folder"' EXIT
      root='\(Lab.root)' PATH='\(Lab.programs)':$PATH

      """ + Self.installed + "cd $folder\n"
      + commands.map {
        $0.replacing("/usr/share/doc/roamward/", with: "$folder/share/") + ($0.hasPrefix("roamward check") ? " || true" : "")
      }
      .joined(separator: "\n")
    let file = "/tmp/roamward-tutorial-\(getpid())"
    try TextFile.replace(file, with: Array(script.utf8), mode: 0o600)
    defer { unlink(file) }
    let stream = try #require(popen("exec bash \(file) 2>&1", "re"))
    var bytes: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    let output = String(decoding: bytes, as: UTF8.self)
    #expect(pclose(stream) == 0, "\(output)")
    let printed = Set(output.split(separator: "\n").map(String.init))
    for line in lines where !line.hasPrefix("$ ") && line != "…" { #expect(printed.contains(line), "\(line)\n\(output)") }
  }
}
