import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Iterator;
import org.broadinstitute.hellbender.Main;

/** Runs GATK once for each line of a file, in one JVM: it loads what all of these runs load. */
public class Walks {
    public static void main(String[] arguments) throws Exception {
        for (Iterator lines = Files.readAllLines(Paths.get(arguments[0])).iterator(); lines.hasNext();) {
            new Main().instanceMain(((String) lines.next()).split(" "));
        }
    }
}
