import Glibc
import RoamwardProvider

// By the name of the link that started it, or by its first argument (docs/decisions/0036).
private let names = [CommandLine.arguments.first?.split(separator: "/").last.map(String.init), CommandLine.arguments.dropFirst().first]
private let chosen = names.compactMap { $0 }.lazy.compactMap { ShippedProvider(named: $0) }.first
private let asksForHelp = CommandLine.arguments.dropFirst().contains { ["-h", "--help"].contains($0) }

if asksForHelp {
  print(chosen?.usage ?? ShippedProvider.usage, terminator: "")
  exit(0)
}
guard let chosen else {
  let text = "roamward-provider: name one of its providers: \(ShippedProvider.allCases.map(\.rawValue).joined(separator: ", "))\n"
  _ = write(2, text, text.utf8.count)
  exit(2)
}
exit(chosen.run())
