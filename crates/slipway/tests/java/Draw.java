import java.awt.Canvas;
import java.awt.Color;
import java.awt.Frame;
import java.awt.Graphics;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.Toolkit;
import java.awt.image.BufferedImage;
import java.util.zip.CRC32;

/** Draws in a window, checks its pixels by a Robot, says "ready" with their checksum, stays until its input ends. */
public class Draw extends Canvas {
    private static final int WIDTH = 400;
    private static final int HEIGHT = 300;

    @Override
    public void paint(Graphics g) {
        BufferedImage image = new BufferedImage(WIDTH, HEIGHT, BufferedImage.TYPE_INT_RGB);
        for (int y = 0; y < HEIGHT; y++) {
            for (int x = 0; x < WIDTH; x++) {
                image.setRGB(x, y, x / 2 << 16 | y / 2 << 8 | (x ^ y) & 255);
            }
        }
        g.drawImage(image, 0, 0, null);
        g.setColor(Color.WHITE);
        for (int i = 0; i < 200; i++) {
            g.drawLine(0, i, WIDTH, HEIGHT - i);
        }
        g.setColor(Color.ORANGE);
        g.fillRect(100, 100, 120, 80);
        g.setColor(Color.BLUE);
        g.fillOval(240, 150, 90, 90);
        g.drawString("Slipway", 120, 140);
        g.copyArea(100, 100, 60, 60, 200, -80);
    }

    public static void main(String[] args) throws Exception {
        Frame frame = new Frame();
        frame.setUndecorated(true);
        Draw canvas = new Draw();
        canvas.setSize(WIDTH, HEIGHT);
        frame.add(canvas);
        frame.pack();
        frame.setLocation(0, 0);
        frame.setVisible(true);

        Robot robot = new Robot();
        Rectangle area = new Rectangle(0, 0, WIDTH, HEIGHT);
        BufferedImage shot;
        do {
            robot.waitForIdle();
            Toolkit.getDefaultToolkit().sync();
            shot = robot.createScreenCapture(area);
        } while (shot.getRGB(110, 170) != Color.ORANGE.getRGB()
                || shot.getRGB(285, 195) != Color.BLUE.getRGB()
                || shot.getRGB(305, 75) != Color.ORANGE.getRGB());
        CRC32 checksum = new CRC32();
        for (int pixel : shot.getRGB(0, 0, WIDTH, HEIGHT, null, 0, WIDTH)) {
            for (int shift = 0; shift < 32; shift += 8) {
                checksum.update(pixel >> shift);
            }
        }
        System.out.println("ready " + checksum.getValue());
        while (System.in.read() >= 0) {
        }
        frame.dispose();
        System.exit(0);
    }
}
