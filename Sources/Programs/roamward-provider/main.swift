import ClientProvider
import Glibc
import NetworkTypes

// By the name of the link that started it, or by its first argument (docs/decisions/0036).
private let names = [CommandLine.arguments.first?.split(separator: "/").last.map(String.init), CommandLine.arguments.dropFirst().first]
private let chosen = names.compactMap { $0 }.lazy.compactMap { ShippedProvider(named: $0) }.first
private let asksForHelp = CommandLine.arguments.dropFirst().contains { ["-h", "--help"].contains($0) }

if asksForHelp {
  print(chosen?.usage ?? ShippedProvider.usage, terminator: "")
  exit(0)
}
// For `roamward login`, which reads nothing of a server itself.
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--read-pin", let server = Endpoint(CommandLine.arguments[2]) {
  exit(PinReader.run(server))
}
if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "--read-tlsa", let server = Endpoint(CommandLine.arguments[2]),
  let nameServer = IPAddress(CommandLine.arguments[3])
{
  exit(RecordReader.run(server, askedAt: nameServer))
}
guard let chosen else {
  let text = "roamward-provider: name one of its providers: \(ShippedProvider.allCases.map(\.rawValue).joined(separator: ", "))\n"
  _ = write(2, text, text.utf8.count)
  exit(2)
}
exit(chosen.run())
