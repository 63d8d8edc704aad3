import BestVPN
import Glibc
import RoamwardProvider

exit(ProviderProgram.run(BestVPN.self, program: "bestvpn 1.0"))
