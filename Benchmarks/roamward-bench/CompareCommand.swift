import ArgumentParser

/// Makes a line of the table of figures that were taken elsewhere.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Print the line of the table for two series.",
    discussion: "Standard input has a figure of ours and one of the peer's in each line, in milliseconds.")

  @Argument(help: "What was measured.") var what: String
  @Option(help: "The ratio not to exceed.") var bar = ""
  @Option(help: "A remark.") var remark = ""

  func run() throws {
    var ours = Series()
    var peer = Series()
    while let line = readLine() {
      let figures = line.split(separator: " ").compactMap { Double(String($0)) }
      guard figures.count == 2 else { throw BenchmarkError("two figures in a line, not \"\(line)\"") }
      ours.values.append(figures[0])
      peer.values.append(figures[1])
    }
    print(Row(what: what, ours: ours.summary, peer: peer.summary, ratio: ours.median / peer.median, bar: bar, remark: remark))
  }
}
