import ArgumentParser

@main
struct Roamward: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamward",
    abstract: "Keeps this machine on the right tunnel, and says why.",
    discussion: """
      Policies are YAML files in /etc/roamward/policies (and /run/…, /usr/lib/…); roamwardd acts on them by itself. Commands that decide or \
      show (evaluate, plan, check, network) need neither root nor the agent.

      Exit status: 0 done; 1 a policy has errors, or the agent refused; 2 usage; 3 time ran out; 8 the agent does not run.
      """,
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(name: "The agent", subcommands: [Status.self, Monitor.self, Up.self, Down.self, Resume.self, Release.self, Wait.self]),
      CommandGroup(name: "Changing policies", subcommands: [Apply.self, Confirm.self, Revert.self]),
      CommandGroup(name: "What is there", subcommands: [Diff.self, State.self, Cleanup.self]),
      CommandGroup(
        name: "Without the agent",
        subcommands: [Evaluate.self, Explain.self, Simulate.self, Plan.self, DNS.self, Network.self, Check.self, Doctor.self]),
      CommandGroup(name: "From and to other forms", subcommands: [Import.self, Export.self]),
    ],
    defaultSubcommand: Status.self)

  static func main() {
    do {
      var command = try parseAsRoot()
      do {
        try command.run()
      } catch let error as ValidationError {
        // What is found out later is told without a usage: the library would print that of `roamward`, not of the command.
        writeError("roamward: \(error.message)\n")
        throw ExitStatus.usage
      }
    } catch  where exitCode(for: error) == .validationFailure {
      // The library's own status for it is 64.
      writeError(fullMessage(for: error) + "\n")
      exit(withError: ExitStatus.usage)
    } catch {
      exit(withError: error)
    }
  }
}
