import LinuxIO

/// The targets of `Package.swift`, as its table has them.
struct House {
  struct Room: Equatable {
    let area: String
    /// `pure`, `rim`, `c`, `system`, `program` or `tests`.
    let kind: String
    let name: String
    /// The dependencies: targets, and products of other packages.
    let uses: Set<String>

    /// Its folder in the repository.
    var path: String {
      switch (area, kind) {
      case ("Support", _), (_, "tests"): area == "Tests" ? "Tests/\(name)" : "Tests/\(area)/\(name)"
      case ("Benchmarks", _): "Benchmarks/\(name)"
      case (_, "pure"): "Sources/\(area)/Pure/\(name)"
      case (_, "rim"): "Sources/\(area)/Rim/\(name)"
      default: "Sources/\(area)/\(name)"
      }
    }
  }

  let rooms: [Room]

  /// The areas that have a folder in `Sources`, lowest first.
  let areas: [String]

  static let ours: House = House(
    manifest: (try? TextFile.read("\(PureRingsTests.root)/Package.swift")).map { String(decoding: $0, as: UTF8.self) } ?? "")

  init(manifest: String) {
    let table = manifest.split(separator: "\"\"\"", omittingEmptySubsequences: false).dropFirst().first ?? ""
    var (rooms, areas, area, line): ([Room], [String], String, [String]) = ([], [], "", [])
    func end() {
      guard let kind = line.first else { return }
      let words = line.dropFirst().filter { !$0.hasPrefix("+") }
      let count = words.firstIndex { $0.hasSuffix(":") }.map { $0 + 1 } ?? words.count
      rooms += words[..<count].map { name in
        Room(area: area, kind: kind, name: name.filter { $0 != ":" }, uses: Set(words[count...]))
      }
      line = []
    }
    for text in table.split(separator: "\n") where text.contains(where: { $0 != " " }) {
      let indent = text.prefix { $0 == " " }.count
      if indent < 8 { end() }
      if indent == 2 {
        area = String(text.dropFirst(2).prefix { $0 != ":" })
        areas.append(area)
      } else {
        line += text.split(separator: " ").map(String.init)
      }
    }
    end()
    self.rooms = rooms
    self.areas = areas.filter { !["Support", "examples", "Benchmarks", "Tests"].contains($0) }
  }

  /// The targets in `Sources`.
  var inside: [Room] { rooms.filter { areas.contains($0.area) } }

  func area(of target: String) -> String? { rooms.first { $0.name == target }?.area }

  /// The areas that an area's targets use.
  func uses(of area: String) -> Set<String> {
    Set(rooms.filter { $0.area == area && $0.kind != "tests" }.flatMap(\.uses).compactMap(self.area(of:))).subtracting([area])
  }
}
